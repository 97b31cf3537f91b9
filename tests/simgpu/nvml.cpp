// Imitates the library that tells libtorch how devices are connected and which processes use them. The
// imitated devices have no connections and no other users.
extern "C" {

int nvmlInit_v2() {
    return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
    *version = 13000;
    return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
    static char only;
    *device = &only;
    return 0;
}
int nvmlDeviceGetComputeRunningProcesses(void*, unsigned* count, void*) {
    *count = 0;
    return 0;
}

constexpr int not_supported = 3;
struct FabricInfo {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
};
int nvmlDeviceGetGpuFabricInfoV(void*, FabricInfo* info) {
    constexpr unsigned char has_none = 0;
    info->status = 0;
    info->clique = 0;
    info->state = has_none;
    return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType() {
    return not_supported;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2() {
    return not_supported;
}

}  // extern "C"
